import type { Mutant } from "./mutant.ts";

/** Isolation of guest code from the host. */
export const SANDBOX: readonly Mutant[] = [
  {
    name: "sandbox-graphics",
    guard: "A guest loads no graphics driver of the host.",
    file: "src/sandbox/process/launch-line.ts",
    find: 'DENO_WEBGPU_BACKEND: "none",',
    replace: "",
    tests: ["test/sandbox/process/launch-line.test.ts"],
    only: "launch line of a worker",
  },
  {
    name: "sandbox-loaders",
    guard: "A guest reads no file through Node's module loaders.",
    file: "src/sandbox/process/guest/wire.mjs",
    find: "Module._extensions[extension] = refuse;",
    replace: "void extension;",
    tests: ["test/sandbox/corpus.test.ts"],
    only: "files-read-by-loaders|honest",
  },
  {
    name: "sandbox-proof",
    guard: "No code runs before the sandbox passed its self-test.",
    file: "src/tools/define-tool.ts",
    find: 'if (proof() === "passed") return prepared;',
    replace: "if (prepared.price >= 0n) return prepared;",
    tests: ["test/tools/sandbox/calls.test.ts"],
  },

  {
    name: "operator-installs-nothing",
    guard: "An operator command installs nothing under a running gateway.",
    file: "src/bootstrap.mjs",
    find: "else refuseWhatIsMissing();",
    replace: "else installWhatIsMissing();",
    tests: ["test/cli/bootstrap.test.ts"],
  },
];
