/** Lists every problem of the configuration with its remedy. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length === 1 ? "a problem" : `${problems.length} problems`}:\n` +
        problems.map((problem) => `  - ${problem}`).join("\n"),
    );
    this.name = "ConfigError";
    this.problems = problems;
  }
}
