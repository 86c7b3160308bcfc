import { afterAll } from "vitest";
import { json, modelServer, COMPLETION } from "../inference/model-server.ts";

/** More than the quote covers, so that a call costs what was quoted. */
const USAGE = { prompt_tokens: 9_000, completion_tokens: 9_000, total_tokens: 18_000 };

/** The slow call. */
export const CHAT = {
  tool: "inference_chat",
  params: { model: "slow", messages: [{ role: "user", content: "Two and two?" }], max_tokens: 10 },
};

/** A model server whose responses a test delays and releases. Closed after the tests of the file. */
export async function slowModel() {
  let gate = Promise.resolve();
  let open = () => {};
  const server = await modelServer((response, request) => {
    if (request.url?.endsWith("/models") === true) {
      json(response, 200, { object: "list", data: [{ id: "slow", object: "model" }] });
      return;
    }
    void gate.then(() => json(response, 200, { ...COMPLETION, model: "slow", usage: USAGE }));
  });
  afterAll(async () => {
    open();
    await server[Symbol.asyncDispose]();
  });
  return {
    /** Settings of an instance that sells it. */
    settings: { INFERENCE_BASE_URL: server.baseUrl },
    /** Delays responses until `letGo`. */
    holdBack: () => void (gate = new Promise((resolve) => (open = resolve))),
    letGo() {
      open();
      gate = Promise.resolve();
    },
    /** Number of completion requests. */
    asked: () => server.received.filter(({ url }) => url?.endsWith("/chat/completions")).length,
  };
}
