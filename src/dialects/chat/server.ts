import type { JsonObject } from "../../domain/core/json.ts";
import type { ServerDialect } from "../dialect.ts";

/** Chat completions, in whose form all other APIs are converted. */
export const CHAT_SERVER: ServerDialect = {
  path: "chat/completions",
  headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
  fromChat: (chat) => chat,
  reader: () => ({
    whole: (answer) => answer,
    take: (event) => [event],
    isOver: false,
    answer: (): JsonObject => ({}),
  }),
};
