import { endpointModel } from "./EndpointModel.ts"

endpointModel(300)
