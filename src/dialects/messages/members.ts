import { type MemberTable, rule } from "../members.ts";

const [CONVERTED, PRICE] = [rule("passed", "converted"), "it changes the price"];
const FETCHES = "no quote covers what it costs; leave it out";

/** Of a request (Anthropic API, "Create a Message"). */
export const BODY: MemberTable = {
  model: rule("converted"),
  messages: CONVERTED,
  system: CONVERTED,
  max_tokens: CONVERTED,
  temperature: CONVERTED,
  top_p: CONVERTED,
  top_k: rule("passed", "left out"),
  stop_sequences: CONVERTED,
  tools: CONVERTED,
  tool_choice: CONVERTED,
  output_config: CONVERTED,
  output_format: CONVERTED,
  thinking: rule("passed", "left out", "servers of this model decide it"),
  context_management: rule("passed", "left out"),
  compaction: rule("passed", "left out"),
  cache_control: rule("passed", "ignored"),
  metadata: rule("passed", "ignored"),
  betas: rule("passed", "ignored"),
  service_tier: rule("ignored"),
  diagnostics: rule("ignored"),
  inference_geo: rule("left out", "left out", PRICE),
  speed: rule("left out", "left out", PRICE),
  billing_policy: rule("left out", "left out", PRICE),
  fallbacks: rule("left out", "left out", PRICE),
  fallback_credit_token: rule("left out", "left out", PRICE),
  user_profile_id: rule("left out", "left out", "it is of another account"),
  workspace_id: rule("left out", "left out", "it is of another account"),
  thread: rule(
    "refused",
    "refused",
    "nothing is kept between calls; send the whole conversation without it",
    "thread_unsupported_request",
  ),
  container: rule("refused", "refused", FETCHES),
  mcp_servers: rule("refused", "refused", FETCHES),
};

const SERVER_RESULT = rule("passed", "left out", "it is a record of another server's tool");

const DOCUMENT = rule("refused", "refused", "has no price; send the document as text");

/** Of `content`, by `type`. */
export const BLOCKS: MemberTable = {
  text: CONVERTED,
  image: CONVERTED,
  tool_use: CONVERTED,
  tool_result: CONVERTED,
  search_result: CONVERTED,
  thinking: CONVERTED,
  redacted_thinking: rule("passed", "left out", "servers of this model cannot read it"),
  document: CONVERTED,
  "document.base64": DOCUMENT,
  "document.url": DOCUMENT,
  "document.file": DOCUMENT,
  tool_reference: rule("passed", "ignored"),
  tool_addition: rule("passed", "left out"),
  tool_removal: rule("passed", "left out"),
  compaction: rule("passed", "left out"),
  fallback: rule("passed", "ignored"),
  server_tool_use: SERVER_RESULT,
  web_search_tool_result: SERVER_RESULT,
  web_fetch_tool_result: SERVER_RESULT,
  advisor_tool_result: SERVER_RESULT,
  code_execution_tool_result: SERVER_RESULT,
  bash_code_execution_tool_result: SERVER_RESULT,
  text_editor_code_execution_tool_result: SERVER_RESULT,
  tool_search_tool_result: SERVER_RESULT,
  mcp_tool_use: SERVER_RESULT,
  mcp_tool_result: SERVER_RESULT,
  mcp_tool_listing: SERVER_RESULT,
  container_upload: rule("refused", "refused", "has no price, leave it out"),
};

const RUN_BY_SERVER = rule("left out", "left out", "no quote covers what it costs");
const RUN_BY_CLIENT = rule("passed", "left out", "only models of Anthropic know what it takes");

/** Of `anthropic-beta`, by name without its date. Others are passed. */
export const BETAS: MemberTable = {
  "context-1m": rule("left out", "ignored", PRICE),
  "fast-mode": rule("left out", "ignored", PRICE),
};

/** Of `tools`, by `type` without its date. */
export const TOOLS: MemberTable = {
  custom: CONVERTED,
  // Of an added tool: one of the request.
  tool_reference: rule("passed", "ignored"),
  bash: RUN_BY_CLIENT,
  text_editor: RUN_BY_CLIENT,
  memory: RUN_BY_CLIENT,
  computer: RUN_BY_CLIENT,
  computer_toolset: RUN_BY_CLIENT,
  browser_toolset: RUN_BY_CLIENT,
  tool_search_tool_bm25: rule("passed", "left out"),
  tool_search_tool_regex: rule("passed", "left out"),
  web_search: RUN_BY_SERVER,
  web_fetch: RUN_BY_SERVER,
  code_execution: RUN_BY_SERVER,
  advisor: RUN_BY_SERVER,
  mcp_toolset: RUN_BY_SERVER,
};
