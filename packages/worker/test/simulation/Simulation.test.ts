import { simulation } from "./Simulation.ts"

simulation(25, 5)
