/** Extensions in offers: `payment-identifier` (x402 extension) becomes the idempotency key. */
export const EXTENSIONS = {
  "payment-identifier": {
    info: { required: false },
    schema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        required: { type: "boolean" },
        id: { type: "string", minLength: 16, maxLength: 128, pattern: "^[a-zA-Z0-9_-]+$" },
      },
      required: ["required"],
    },
  },
} as const;
