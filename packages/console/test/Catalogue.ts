/** A catalogue of thirty event types in six groups, as a platform has it: for the photographs, and for tests of its page. */

const id = (what: string) => ({
  type: "string",
  description: `Id of the ${what}.`,
  pattern: "^[a-z]{2,4}_[0-9a-z]{12}$"
})
const at = (what: string) => ({ type: "string", format: "date-time", description: what })
const money = { $ref: "#/$defs/money" }
const address = { $ref: "#/$defs/address" }

const $defs = {
  money: {
    type: "object",
    description: "An amount in the smallest unit of its currency.",
    required: ["amount", "currency"],
    properties: {
      amount: { type: "integer", description: "In cents, or whatever the smallest unit is." },
      currency: { type: "string", pattern: "^[A-Z]{3}$", description: "ISO 4217." }
    },
    additionalProperties: false
  },
  address: {
    type: "object",
    required: ["line1", "city", "country"],
    properties: {
      line1: { type: "string", maxLength: 200 },
      line2: { type: ["string", "null"], maxLength: 200 },
      postalCode: { type: "string" },
      city: { type: "string" },
      country: { type: "string", minLength: 2, maxLength: 2, description: "ISO 3166-1, two letters." }
    }
  },
  customer: {
    type: "object",
    required: ["id", "email"],
    properties: {
      id: id("customer"),
      email: { type: "string", format: "email" },
      name: { type: ["string", "null"], description: "As it stands on invoices." },
      address
    }
  }
}

const invoice = {
  type: "object",
  required: ["id", "number", "status", "total", "customer", "lines"],
  properties: {
    id: id("invoice"),
    number: { type: "string", description: "As it is printed on the invoice.", examples: ["2026-0117"] },
    status: { enum: ["draft", "open", "paid", "void", "uncollectible"], description: "What it is now." },
    total: money,
    due: at("When it has to be paid."),
    customer: { $ref: "#/$defs/customer" },
    lines: {
      type: "array",
      minItems: 1,
      maxItems: 500,
      description: "What is invoiced, in the order of the invoice.",
      items: {
        type: "object",
        required: ["sku", "quantity", "price"],
        properties: {
          sku: { type: "string", minLength: 1, maxLength: 40, description: "Your article number." },
          quantity: { type: "integer", minimum: 1 },
          price: money,
          taxes: {
            type: "array",
            items: {
              type: "object",
              required: ["rate"],
              properties: {
                rate: { type: "number", minimum: 0, exclusiveMaximum: 1 },
                name: { type: "string" }
              }
            }
          }
        }
      }
    },
    payment: {
      description: "How it was paid; null while it is open.",
      anyOf: [
        { type: "null" },
        {
          title: "card",
          type: "object",
          required: ["kind", "last4"],
          properties: { kind: { const: "card" }, last4: { type: "string", pattern: "^[0-9]{4}$" } }
        },
        {
          title: "transfer",
          type: "object",
          required: ["kind", "iban"],
          properties: { kind: { const: "transfer" }, iban: { type: "string" } }
        }
      ]
    },
    memo: { type: ["string", "null"], deprecated: true, description: "Use `metadata` instead." },
    metadata: {
      type: "object",
      maxProperties: 50,
      description: "Your notes on it.",
      additionalProperties: { type: "string", maxLength: 500 }
    }
  },
  $defs
}

const EXAMPLE = {
  id: "in_0mq3x8k1w9ab",
  number: "2026-0117",
  status: "paid",
  total: { amount: 11900, currency: "EUR" },
  due: "2026-12-10T00:00:00Z",
  customer: { id: "cus_7pd02m4c81zz", email: "billing@lakeside.example", name: "Lakeside Ltd." },
  lines: [
    {
      sku: "SEAT-PRO",
      quantity: 5,
      price: { amount: 2000, currency: "EUR" },
      taxes: [{ rate: 0.19, name: "VAT" }]
    }
  ],
  payment: { kind: "card", last4: "4242" },
  metadata: {}
}

const small = (noun: string) => ({
  type: "object",
  required: ["id", "at"],
  properties: { id: id(noun), at: at("When it happened."), reason: { type: ["string", "null"] } }
})

const groups: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Invoices: {
    "invoice.created": "An invoice was drawn up. It can still change until it is finalized.",
    "invoice.finalized": "An invoice got its number, and is sent to the customer.",
    "invoice.paid":
      "An invoice was paid in full.\nIt comes once for each invoice, however many payments there were.",
    "invoice.overdue": "An invoice was not paid in time.",
    "invoice.voided": "An invoice was withdrawn."
  },
  Orders: {
    "order.created": "A customer placed an order.",
    "order.paid": "An order was paid for, and may be shipped.",
    "order.updated": "An order was changed before it was shipped.",
    "order.cancelled": "An order was cancelled, by the customer or by you.",
    "order.fulfilled": "Everything that was ordered has left the warehouse."
  },
  Payments: {
    "payment.authorized": "A payment was reserved on the customer's card.",
    "payment.captured": "A payment arrived.",
    "payment.failed": "A payment was refused.",
    "payment.refunded": "A payment was refunded, in whole or in part.",
    "payment.disputed": "The customer's bank asks for the money back."
  },
  Shipping: {
    "shipment.created": "A parcel was announced to the carrier.",
    "shipment.picked_up": "The carrier has the parcel.",
    "shipment.delayed": "The carrier expects to be late.",
    "shipment.delivered": "The parcel arrived.",
    "shipment.returned": "The parcel comes back."
  },
  Customers: {
    "customer.created": "Somebody became a customer.",
    "customer.updated": "A customer's name, address or e-mail address changed.",
    "customer.merged": "Two customers turned out to be one.",
    "customer.deleted": "A customer's data was deleted.",
    "customer.tax_id.verified": "A tax number was checked, and is right."
  },
  Subscriptions: {
    "subscription.started": "A subscription began.",
    "subscription.renewed": "A subscription goes on for another period.",
    "subscription.changed": "Plan or number of seats changed.",
    "subscription.trial_ending": "A trial ends in three days.",
    "subscription.cancelled": "A subscription ends, now or at the end of its period."
  }
}

/** What to put, by event type. */
export const catalogue: ReadonlyArray<readonly [eventType: string, body: unknown]> = Object.entries(
  groups
).flatMap(([group, types]) =>
  Object.entries(types).map(
    ([eventType, description]) =>
      [
        eventType,
        {
          group,
          description,
          schema: group === "Invoices" ? invoice : small(eventType.split(".")[0]!),
          examples:
            group === "Invoices"
              ? [EXAMPLE]
              : [{ id: "ab_0mq3x8k1w9ab", at: "2026-11-26T12:00:00Z", reason: null }],
          validation: group === "Invoices" ? "refuse" : group === "Orders" ? "report" : "off",
          ...(eventType === "order.updated" && { deprecated: true, replacedBy: "order.created" })
        }
      ] as const
  )
)
