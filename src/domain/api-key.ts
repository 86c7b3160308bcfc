/** What every API key begins with (specification 5). */
export const KEY_PREFIX = "sk-agent-";
