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
  let held: PromiseWithResolvers<void> | undefined;
  const server = await modelServer((response, request) => {
    if (request.url?.endsWith("/models") === true) {
      json(response, 200, { object: "list", data: [{ id: "slow", object: "model" }] });
      return;
    }
    void Promise.resolve(held?.promise).then(() =>
      json(response, 200, { ...COMPLETION, model: "slow", usage: USAGE }),
    );
  });
  afterAll(async () => {
    held?.resolve();
    await server[Symbol.asyncDispose]();
  });
  return {
    /** Settings of an instance that sells it. */
    settings: { INFERENCE_BASE_URL: server.baseUrl },
    /** Delays responses until `letGo`. */
    holdBack: () => void (held ??= Promise.withResolvers()),
    letGo() {
      held?.resolve();
      held = undefined;
    },
    /** Number of completion requests. */
    asked: () => server.received.filter(({ url }) => url?.endsWith("/chat/completions")).length,
  };
}
