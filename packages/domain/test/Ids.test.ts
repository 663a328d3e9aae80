import { assert, it } from "@effect/vitest"
import { type DeliveryId, type EndpointId, newId } from "../src/Ids.ts"

const replay = (deliveryId: DeliveryId, endpointId: EndpointId) => [deliveryId, endpointId]

it("§2.7 an id of one noun does not compile where another noun's is expected, and plain text does", () => {
  const delivery = newId("delivery")
  const endpoint = newId("endpoint")
  // @ts-expect-error: the two are swapped.
  replay(endpoint, delivery)

  assert.deepStrictEqual(replay(delivery, endpoint), [delivery, endpoint])
  assert.deepStrictEqual(replay("whd_1", "whe_1"), ["whd_1", "whe_1"])
})
