import type { ChatModel, ChatModels } from "../../domain/tools/chat.ts";
import type { Form } from "../../domain/tools/tool.ts";
import { DIALECTS } from "../../dialects/index.ts";
import type { Charge } from "../built-in.ts";
import { dialectChat } from "./dialect-chat.ts";
import type { ModelForms, PrepareFor } from "./model-tool.ts";
import { finder } from "./models.ts";
import { chatPreparer, openAiChat } from "./openai-chat.ts";

/** The APIs that chats are sold in. */
export const CHAT_FORMS: readonly Form[] = ["openai", ...DIALECTS.map(({ api }) => api)];

export function chatApis(
  models: readonly ChatModel[],
  inference: ChatModels,
  charge: Charge,
): ModelForms["apis"] {
  const modelOf = finder(models);
  const prepare = chatPreparer(inference, charge);
  const others = DIALECTS.map((dialect): [Form, PrepareFor] => [
    dialect.api,
    dialectChat(dialect, modelOf, prepare),
  ]);
  return { openai: openAiChat(modelOf, prepare), ...Object.fromEntries(others) };
}
