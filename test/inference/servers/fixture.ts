/** An answer as a server documents it, whole and in chunks, and what the gateway makes of both. */
export interface Fixture {
  readonly server: string;
  readonly whole: object;
  readonly chunks: readonly object[];
  readonly expected: {
    readonly message: object;
    /** Of an answer in the OpenAI API's form. */
    readonly finishReason: string;
    /** Other members of the choice and of the answer. */
    readonly choice?: object;
    readonly answer?: object;
    /** Prompt and completion, and what else `usage` has. */
    readonly counts: readonly [prompt: number, completion: number];
    readonly usage?: object;
    /** What only one of the two forms has. */
    readonly onlyWhole?: boolean;
  };
}

/** A tool call as the OpenAI API has it. */
export function call(id: unknown, name: string, input: string, more: object = {}): object {
  return { ...more, id, type: "function", function: { name, arguments: input } };
}

/** A chunk with one choice. */
export function chunk(delta: object, finish_reason: string | null = null, more: object = {}): object {
  const choices = [{ index: 0, delta, finish_reason, logprobs: null }];
  return { id: "c-1", object: "chat.completion.chunk", created: 1, model: "served-name", choices, ...more };
}

/** A whole answer. */
export function whole(
  message: object,
  finish_reason: string,
  more: object = {},
  choice: object = {},
): object {
  const choices = [{ index: 0, message, finish_reason, ...choice }];
  return { id: "c-1", object: "chat.completion", created: 1, model: "served-name", choices, ...more };
}

export function usage(prompt_tokens: number, completion_tokens: number, more: object = {}): object {
  return {
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens, ...more },
  };
}
