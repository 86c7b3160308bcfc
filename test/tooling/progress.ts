/** How many tests passed, failed and were skipped. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Events of the reporter (progress-reporter.ts). */
export type ProgressEvent =
  | { readonly event: "file"; readonly file: string }
  | { readonly event: "test"; readonly file: string; readonly test: string }
  | { readonly event: "result"; readonly file: string; readonly test: string; readonly state: string }
  | {
      readonly event: "end";
      readonly file: string;
      readonly failed: boolean;
      readonly states: readonly string[];
    }
  | { readonly event: "run-end"; readonly errors: number };

/** A test file that is running, and its tests that have started and not ended. */
export interface RunningFile {
  readonly file: string;
  readonly tests: readonly string[];
  /** When it last reported something, in the unit of the clock. */
  readonly lastEvent: number;
}

interface FileState {
  lastEvent: number;
  readonly tests: Set<string>;
  states: string[];
  ended: boolean;
  failed: boolean;
}

/** State of a vitest run from the events of its reporter. */
export class Progress {
  readonly #files = new Map<string, FileState>();
  readonly #now: () => number;
  #rest = "";
  #errors = 0;
  /** When anything was last reported. */
  lastEvent: number;
  /** When all files had ended; undefined while they run. */
  endedAt: number | undefined;

  constructor(now: () => number) {
    this.#now = now;
    this.lastEvent = now();
  }

  /** Takes more of the reporter's text; the last line may be incomplete. */
  add(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#take(JSON.parse(line));
  }

  running(): RunningFile[] {
    return [...this.#files]
      .filter(([, state]) => !state.ended)
      .map(([file, { tests, lastEvent }]) => ({ file, tests: [...tests], lastEvent }));
  }

  /**
   * The counts so far. Counts as a failure: a file that failed without a failed test, a file that has not
   * ended, an error outside of every test, no passed test at all.
   */
  counts(exitCode: number): Counts {
    const files = [...this.#files.values()];
    const states = files.flatMap((file) => file.states);
    const passed = states.filter((state) => state === "passed").length;
    const failedTests = states.filter((state) => state === "failed").length;
    const brokenFiles = files.filter(
      (file) => !file.ended || (file.failed && !file.states.includes("failed")),
    ).length;
    const failed = failedTests + brokenFiles;
    const unexplained = failed === 0 && (exitCode !== 0 || passed === 0 || this.#errors > 0);
    return { passed, failed: unexplained ? 1 : failed, skipped: states.length - passed - failedTests };
  }

  #take(event: ProgressEvent): void {
    this.lastEvent = this.#now();
    if (event.event === "run-end") {
      this.endedAt = this.lastEvent;
      this.#errors = event.errors;
      return;
    }
    const state = this.#file(event.file);
    // A skipped test may be reported after the end of its file, which has counted it.
    if (state.ended) return;
    state.lastEvent = this.lastEvent;
    if (event.event === "test") state.tests.add(event.test);
    if (event.event === "result") {
      state.tests.delete(event.test);
      state.states.push(event.state);
    }
    if (event.event === "end") {
      state.ended = true;
      state.failed = event.failed;
      // The final word: it also has the tests that were skipped without a report.
      state.states = [...event.states];
    }
  }

  #file(file: string): FileState {
    const known = this.#files.get(file);
    if (known) return known;
    const state = {
      lastEvent: this.lastEvent,
      tests: new Set<string>(),
      states: [],
      ended: false,
      failed: false,
    };
    this.#files.set(file, state);
    return state;
  }
}
