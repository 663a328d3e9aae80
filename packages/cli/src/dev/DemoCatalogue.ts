/** What the demo's catalogue says; also the example of docs/catalogue.md. */
export const demoCatalogue: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "demo.started": {
    group: "Demo",
    description: "`posthorn dev` is up. It publishes this once at each start, so that you see a delivery.",
    schema: {
      type: "object",
      required: ["message", "at"],
      properties: {
        message: { type: "string", description: "A greeting." },
        at: { type: "string", format: "date-time", description: "When it started." }
      }
    },
    examples: [{ message: "Hello from Posthorn", at: "2026-11-26T12:00:00.000Z" }],
    validation: "report"
  },
  "invoice.paid": {
    group: "Invoices",
    description:
      "An invoice was paid in full.\nIt comes once for each invoice, however many payments there were.",
    schema: {
      type: "object",
      required: ["id"],
      properties: {
        id: { type: "integer", minimum: 1, description: "Number of the invoice." },
        total: {
          type: "object",
          description: "What was paid.",
          required: ["amount", "currency"],
          properties: {
            amount: { type: "integer", description: "In cents, or whatever the smallest unit is." },
            currency: { type: "string", pattern: "^[A-Z]{3}$", description: "ISO 4217." }
          }
        },
        lines: {
          type: "array",
          description: "What was invoiced, in the order of the invoice.",
          items: {
            type: "object",
            required: ["sku", "quantity"],
            properties: {
              sku: { type: "string", description: "Article number." },
              quantity: { type: "integer", minimum: 1 }
            }
          }
        },
        note: { type: ["string", "null"], description: "What the customer wrote with the payment." }
      }
    },
    examples: [
      {
        id: 7,
        total: { amount: 11900, currency: "EUR" },
        lines: [{ sku: "SEAT-PRO", quantity: 5 }],
        note: null
      }
    ]
  },
  "invoice.overdue": {
    group: "Invoices",
    description: "An invoice was not paid in time.",
    schema: {
      type: "object",
      required: ["id", "days"],
      properties: {
        id: { type: "integer", minimum: 1, description: "Number of the invoice." },
        days: { type: "integer", minimum: 1, description: "For how long it is due." }
      }
    },
    examples: [{ id: 7, days: 3 }]
  }
}
