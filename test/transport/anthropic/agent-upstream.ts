/** What a model says that works as an agent with the tools of Claude Code, after a number of results. */
export interface AgentStep {
  /** The tool that it calls; undefined: it says something. */
  readonly call: { readonly name: string; readonly input: object } | undefined;
  readonly text: string;
}

/** Tokens that its server counts: more than a cent and a half buys of eight. */
export const AGENT_USAGE = { prompt: 10_000, completion: 50 };

/** @param isEndless whether it runs one command after another @param asked what it was sent, as text */
export function agentStep(isEndless: boolean, results: number, asked: string): AgentStep {
  const [, file_path = ""] = /work in (\/[\w/.-]+)/.exec(asked) ?? [];
  const command = { name: "Bash", input: { command: `cat ${file_path}`, description: "Shows the file" } };
  if (isEndless) return { call: command, text: "" };
  const steps = [
    { name: "Read", input: { file_path } },
    { name: "Edit", input: { file_path, old_string: "one", new_string: "two" } },
    command,
  ];
  return { call: steps[results], text: "It says two." };
}
