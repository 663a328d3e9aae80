import { endpointModel } from "./EndpointModel.ts"

endpointModel(12)
