import type { Dialect } from "../dialect.ts";
import { CHAT_BODY, fromChat } from "./from-chat.ts";
import { lastEvents } from "./last-events.ts";
import { BETAS, BLOCKS, BODY, TOOLS } from "./members.ts";
import { readRequest } from "./read.ts";
import { MessagesReader } from "./server-reader.ts";

/** Anthropic's Messages API. */
export const MESSAGES: Dialect = {
  api: "messages",
  members: {
    "Members of a request": BODY,
    "Blocks, by `type`": BLOCKS,
    "Tools, by `type`": TOOLS,
    Betas: BETAS,
  },
  read: readRequest,
  lastEvents,
  server: {
    path: "messages",
    // Its own servers take no bearer tokens of this kind.
    headers: (apiKey) => ({ "x-api-key": apiKey, "anthropic-version": "2023-06-01" }),
    chatMembers: CHAT_BODY,
    fromChat,
    reader: () => new MessagesReader(),
  },
};
