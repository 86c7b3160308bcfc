import { LACKED, type MemberTable, rule } from "../members.ts";

const CONVERTED = rule("passed", "converted");
const [PASSED, NOWHERE] = [rule("passed", "ignored"), rule("ignored")];
const NOT_STORED = "nothing is kept between calls; send the whole conversation as input";
const [PRICE, ACCOUNT] = ["it changes the price", "it is of another account"];

/** Of a request (OpenAI API, "Create a model response"). */
export const BODY: MemberTable = {
  model: rule("converted"),
  input: CONVERTED,
  instructions: CONVERTED,
  max_output_tokens: CONVERTED,
  temperature: CONVERTED,
  top_p: CONVERTED,
  tools: CONVERTED,
  tool_choice: CONVERTED,
  parallel_tool_calls: CONVERTED,
  text: CONVERTED,
  reasoning: CONVERTED,
  include: CONVERTED,
  top_logprobs: CONVERTED,
  metadata: PASSED,
  user: PASSED,
  safety_identifier: PASSED,
  prompt_cache_key: PASSED,
  prompt_cache_retention: PASSED,
  prompt_cache_options: PASSED,
  stream_options: NOWHERE,
  client_metadata: NOWHERE,
  store: NOWHERE,
  truncation: rule("passed", "left out"),
  max_tool_calls: rule("passed", "left out"),
  context_management: rule("passed", "left out"),
  moderation: rule("left out", "left out", PRICE),
  service_tier: rule("left out", "left out", PRICE),
  access_programs: rule("left out", "left out", ACCOUNT),
  image: rule("left out", "left out", PRICE),
  background: rule("refused", "refused", "answers are not made in the background; stream them"),
  previous_response_id: rule("refused", "refused", NOT_STORED),
  conversation: rule("refused", "refused", NOT_STORED),
  prompt: rule("refused", "refused", "no prompts are kept; send instructions and input"),
};

const RECORD = rule("passed", "left out", "it is a record of another server's tool");
const CLIENT_RAN = rule("passed", "refused", `${LACKED}; call functions instead`);

/** Of `input`, by `type`. */
export const ITEMS: MemberTable = {
  message: CONVERTED,
  function_call: CONVERTED,
  function_call_output: CONVERTED,
  custom_tool_call: CONVERTED,
  custom_tool_call_output: CONVERTED,
  reasoning: CONVERTED,
  "reasoning.encrypted_content": rule("passed", "left out", "only the server that encrypted it can read it"),
  item_reference: rule(
    "refused",
    "refused",
    "nothing is kept between calls; send the item itself, as clients do with store: false",
  ),
  "item_reference.reasoning": rule("left out", "left out", "nothing is kept between calls"),
  compaction: rule("passed", "left out", "only the server that encrypted it can read it"),
  compaction_trigger: rule("passed", "left out"),
  file_search_call: RECORD,
  web_search_call: RECORD,
  code_interpreter_call: RECORD,
  image_generation_call: RECORD,
  mcp_list_tools: RECORD,
  mcp_call: RECORD,
  mcp_approval_request: RECORD,
  mcp_approval_response: RECORD,
  tool_search_call: RECORD,
  tool_search_output: RECORD,
  additional_tools: rule("passed", "left out"),
  computer_call: CLIENT_RAN,
  computer_call_output: rule("refused", "refused", "has no price, leave it out"),
  local_shell_call: CLIENT_RAN,
  local_shell_call_output: CLIENT_RAN,
  shell_call: CLIENT_RAN,
  shell_call_output: CLIENT_RAN,
  apply_patch_call: CLIENT_RAN,
  apply_patch_call_output: CLIENT_RAN,
};

/** Of `content` and `output`, by `type`. */
export const PARTS: MemberTable = {
  input_text: CONVERTED,
  output_text: CONVERTED,
  text: CONVERTED,
  refusal: CONVERTED,
  input_image: CONVERTED,
  input_file: rule("refused", "refused", "has no price, leave it out"),
  input_audio: rule("refused", "refused", "has no price, leave it out"),
};

const RUN_BY_SERVER = rule("left out", "left out", "no quote covers what it costs");
const RUN_BY_CLIENT = rule("passed", "left out", "only models of OpenAI know what it takes");

/** Of `tools`, by `type`. */
export const TOOLS: MemberTable = {
  function: CONVERTED,
  custom: CONVERTED,
  namespace: CONVERTED,
  local_shell: RUN_BY_CLIENT,
  apply_patch: RUN_BY_CLIENT,
  tool_search: RUN_BY_CLIENT,
  shell: RUN_BY_SERVER,
  computer: RUN_BY_SERVER,
  computer_use_preview: RUN_BY_SERVER,
  web_search: RUN_BY_SERVER,
  web_search_preview: RUN_BY_SERVER,
  file_search: RUN_BY_SERVER,
  code_interpreter: RUN_BY_SERVER,
  image_generation: RUN_BY_SERVER,
  mcp: RUN_BY_SERVER,
  programmatic_tool_calling: RUN_BY_SERVER,
};
