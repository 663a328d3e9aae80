import { brokenLaws, simulation } from "./Simulation.ts"

simulation(300, 30)
brokenLaws()
