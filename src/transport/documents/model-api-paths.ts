/** The operations of the APIs of language models in the OpenAPI document. Their protocols are not ours. */

interface Answer {
  readonly path: string;
  readonly id: string;
  /** The member that has the conversation, and its schema. */
  readonly said: object;
}

interface ModelApiText {
  /** Start of the operations' ids. */
  readonly name: string;
  readonly tag: string;
  readonly base: string;
  readonly answers: readonly Answer[];
  readonly what: string;
}

const OBJECT = { type: "object", additionalProperties: true };
const MESSAGES = { messages: { type: "array", minItems: 1, items: OBJECT } };
const INPUT = { input: { oneOf: [{ type: "string" }, { type: "array", items: OBJECT }] } };

const APIS: readonly ModelApiText[] = [
  {
    name: "OpenAi",
    tag: "OpenAI",
    base: "/openai/v1",
    answers: [
      { path: "/chat/completions", id: "ChatCompletions", said: MESSAGES },
      { path: "/responses", id: "Responses", said: INPUT },
    ],
    what: "The OpenAI API: chat completions, responses and models. Requires an API key as the bearer token.",
  },
  {
    name: "Anthropic",
    tag: "Anthropic",
    base: "/anthropic/v1",
    answers: [{ path: "/messages", id: "Messages", said: MESSAGES }],
    what: "Anthropic's API: messages and models. Requires an API key as the bearer token or `x-api-key`.",
  },
];

/** Groups of the operations. */
export const MODEL_API_TAGS = APIS.map(({ tag, what }) => ({ name: tag, description: what }));

const ERROR = {
  description: "An error, in the form of the API and with the members of ErrorBody",
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
            required: ["message", "type"],
          },
        },
        required: ["code", "message", "error"],
      },
    },
  },
};
export const MODEL_API_PATHS: Readonly<Record<string, object>> = Object.fromEntries<object>(
  APIS.flatMap((api): [string, object][] => [
    [`${api.base}/models`, { get: modelsOf(api) }],
    ...api.answers.map((one): [string, object] => [`${api.base}${one.path}`, { post: answerOf(api, one) }]),
  ]),
);

function modelsOf({ name, tag }: ModelApiText) {
  return {
    operationId: `${name}Models`,
    summary: "Lists the models",
    tags: [tag],
    responses: {
      "200": { description: "The models", content: { "application/json": { schema: OBJECT } } },
      "401": { ...ERROR, description: "The API key is missing, unknown, expired or revoked" },
      default: ERROR,
    },
  };
}

function answerOf({ name, tag }: ModelApiText, { id, said }: Answer) {
  const schema = {
    type: "object",
    properties: { model: { type: "string" }, ...said, stream: { type: "boolean" } },
    required: ["model", ...Object.keys(said)],
    additionalProperties: true,
  };
  return {
    operationId: `${name}${id}`,
    summary: "Answers a conversation, whole or as a stream; charges what was used",
    tags: [tag],
    parameters: [{ $ref: "#/components/parameters/Idempotency-Key" }],
    requestBody: { required: true, content: { "application/json": { schema } } },
    responses: {
      "200": {
        description: "The answer; with stream its events, of which one of the last has the charge",
        content: {
          "application/json": { schema: OBJECT },
          "text/event-stream": { schema: { type: "string" } },
        },
      },
      "402": { ...ERROR, description: "The balance does not cover the call; the body has a quote" },
      default: ERROR,
    },
  };
}
