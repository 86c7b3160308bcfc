import { json, modelServer, COMPLETION, type ModelServer } from "../inference/model-server.ts";

/** A model server whose answers a test holds back and lets go. */
export interface SlowModel extends AsyncDisposable {
  /** What an instance needs to sell it. */
  readonly settings: Record<string, string>;
  /** From now on answers wait for {@link letGo}. */
  holdBack(): void;
  /** Answers what waits, and everything after it at once. */
  letGo(): void;
  /** How many completions were asked for. */
  asked(): number;
}

/** The slow call. */
export const CHAT = {
  tool: "inference_chat",
  params: { model: "slow", messages: [{ role: "user", content: "Two and two?" }], max_tokens: 10 },
};

/** Starts one, which at first answers at once. */
export async function slowModel(): Promise<SlowModel> {
  let gate = Promise.resolve();
  let open = () => {};
  const server: ModelServer = await modelServer((response, request) => {
    if (request.url?.endsWith("/models") === true) {
      json(response, 200, { object: "list", data: [{ id: "slow", object: "model" }] });
      return;
    }
    void gate.then(() => json(response, 200, { ...COMPLETION, model: "slow" }));
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
