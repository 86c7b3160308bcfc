import type { ServerApi } from "../domain/tools/chat.ts";
import { CHAT_SERVER } from "./chat/server.ts";
import type { Dialect, ServerDialect } from "./dialect.ts";
import { MESSAGES } from "./messages/index.ts";
import { RESPONSES } from "./responses/index.ts";

/** The APIs beside chat completions. */
export const DIALECTS: readonly Dialect[] = [MESSAGES, RESPONSES];

export function serverDialect(api: ServerApi): ServerDialect {
  return DIALECTS.find((dialect) => dialect.api === api)?.server ?? CHAT_SERVER;
}
