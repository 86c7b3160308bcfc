import { json, modelServer, COMPLETION, type ModelServer } from "../inference/model-server.ts";

/** A model server whose responses a test delays and releases. */
export interface SlowModel extends AsyncDisposable {
  /** Settings of an instance that sells it. */
  readonly settings: Record<string, string>;
  /** Delays responses until {@link letGo}. */
  holdBack(): void;
  /** Releases delayed responses and stops delaying. */
  letGo(): void;
  /** Number of completion requests. */
  asked(): number;
}

/** More than the quote covers, so that a call costs what was quoted. */
const USAGE = { prompt_tokens: 9_000, completion_tokens: 9_000, total_tokens: 18_000 };

/** The slow call. */
export const CHAT = {
  tool: "inference_chat",
  params: { model: "slow", messages: [{ role: "user", content: "Two and two?" }], max_tokens: 10 },
};

/** Starts a server that responds at once at first. */
export async function slowModel(): Promise<SlowModel> {
  let gate = Promise.resolve();
  let open = () => {};
  const server: ModelServer = await modelServer((response, request) => {
    if (request.url?.endsWith("/models") === true) {
      json(response, 200, { object: "list", data: [{ id: "slow", object: "model" }] });
      return;
    }
    void gate.then(() => json(response, 200, { ...COMPLETION, model: "slow", usage: USAGE }));
  });
  return {
    settings: { INFERENCE_BASE_URL: server.baseUrl },
    holdBack() {
      gate = new Promise((resolve) => (open = resolve));
    },
    letGo() {
      open();
      gate = Promise.resolve();
    },
    asked: () => server.received.filter(({ url }) => url?.endsWith("/chat/completions")).length,
    async [Symbol.asyncDispose]() {
      open();
      await server[Symbol.asyncDispose]();
    },
  };
}
