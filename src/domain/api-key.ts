/** What every API key begins with (specification 5). */
export const KEY_PREFIX = "sk-agent-";

/** How many of a key's characters are kept for recognition: too few to guess the rest from. */
export const SHOWN_LENGTH = KEY_PREFIX.length + 4;
