import { appendFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";
import type { Reporter, TestCase, TestModule, Vitest } from "vitest/node";

import type { ProgressEvent } from "./progress.ts";

/** Appends what vitest does to the file named by TEST_PROGRESS, one JSON line an event. */
export default class ProgressReporter implements Reporter {
  readonly #file = process.env["TEST_PROGRESS"];
  #root = "";

  onInit({ config }: Vitest): void {
    this.#root = config.root;
  }

  onTestModuleQueued(module: TestModule): void {
    this.#write({ event: "file", file: this.#name(module) });
  }

  onTestCaseReady(test: TestCase): void {
    this.#write({ event: "test", file: this.#name(test.module), test: test.fullName });
  }

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result();
    this.#write({ event: "result", file: this.#name(test.module), test: test.fullName, state });
  }

  onTestModuleEnd(module: TestModule): void {
    const states = [...module.children.allTests()].map((test) => test.result().state);
    this.#write({ event: "end", file: this.#name(module), failed: module.state() === "failed", states });
  }

  onTestRunEnd(_modules: readonly TestModule[], errors: readonly unknown[]): void {
    this.#write({ event: "run-end", errors: errors.length });
  }

  #name({ moduleId }: TestModule): string {
    return path.relative(this.#root, moduleId);
  }

  #write(event: ProgressEvent): void {
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(event)}\n`);
  }
}
