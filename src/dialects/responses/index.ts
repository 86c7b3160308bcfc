import type { Dialect } from "../dialect.ts";
import { CHAT_BODY, fromChat } from "./from-chat.ts";
import { lastEvents } from "./last-events.ts";
import { BODY, ITEMS, PARTS, TOOLS } from "./members.ts";
import { readRequest } from "./read.ts";
import { ResponsesReader } from "./server-reader.ts";

/** OpenAI's Responses API. */
export const RESPONSES: Dialect = {
  api: "responses",
  members: {
    "Members of a request": BODY,
    "Items, by `type`": ITEMS,
    "Parts, by `type`": PARTS,
    "Tools, by `type`": TOOLS,
  },
  read: readRequest,
  lastEvents,
  server: {
    path: "responses",
    headers: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    chatMembers: CHAT_BODY,
    fromChat,
    reader: () => new ResponsesReader(),
  },
};
