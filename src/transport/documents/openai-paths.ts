const OPENAI_ERROR = {
  description: "An error, in the form of the OpenAI API and with the members of ErrorBody",
  content: {
    "application/json": {
      schema: {
        type: "object",
        properties: {
          code: { type: "string" },
          message: { type: "string" },
          request_id: { type: "string" },
          error: {
            type: "object",
            properties: { message: { type: "string" }, type: { type: "string" }, code: { type: "string" } },
            required: ["message", "code"],
          },
        },
        required: ["code", "message", "error"],
      },
    },
  },
};
const OBJECT = { type: "object", additionalProperties: true };
const TAGS = ["OpenAI"];

/** Group of the operations. */
export const OPENAI_TAG = {
  name: TAGS[0],
  description: "The OpenAI API: chat completions and models. Requires an API key as the bearer token.",
};

/** The operations of the OpenAI API, by path. Their protocol is OpenAI's. */
export const OPENAI_PATHS = {
  "/openai/v1/models": {
    get: {
      operationId: "OpenAiModels",
      summary: "Lists the models with their prices",
      tags: TAGS,
      responses: {
        "200": { description: "The models", content: { "application/json": { schema: OBJECT } } },
        "401": { ...OPENAI_ERROR, description: "The API key is missing, unknown, expired or revoked" },
        default: OPENAI_ERROR,
      },
    },
  },
  "/openai/v1/chat/completions": {
    post: {
      operationId: "OpenAiChatCompletions",
      summary: "Answers a conversation, whole or as a stream; charges what was used",
      tags: TAGS,
      parameters: [{ $ref: "#/components/parameters/Idempotency-Key" }],
      requestBody: {
        required: true,
        content: {
          "application/json": {
            schema: {
              type: "object",
              properties: {
                model: { type: "string" },
                messages: { type: "array", minItems: 1, items: OBJECT },
                stream: { type: "boolean" },
              },
              required: ["model", "messages"],
              additionalProperties: true,
            },
          },
        },
      },
      responses: {
        "200": {
          description: "The answer; with stream its chunks, of which the last has the charge",
          content: {
            "application/json": { schema: OBJECT },
            "text/event-stream": { schema: { type: "string" } },
          },
        },
        "402": { ...OPENAI_ERROR, description: "The balance does not cover the call; the body has a quote" },
        default: OPENAI_ERROR,
      },
    },
  },
};
