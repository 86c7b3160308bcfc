import type { Mutant } from "./mutant.ts";

const CALL = ["test/app/calls/run-and-capture.test.ts"];
const METER = ["test/tools/custom/meter.test.ts"];
const CHARGE = "src/domain/calls/charge.ts";
const ALIASES = ["test/attacks/model-aliases.test.ts"];
const UNITS = "src/tools/custom/metered-units.ts";

/** A meter decides what is charged below the quote, and nothing above it. */
export const METERING: readonly Mutant[] = [
  {
    name: "charge-within-quote",
    guard: "A tool that reports more than the quote is charged the quote.",
    file: CHARGE,
    find: "if (used >= held) return held;",
    replace: "",
    tests: CALL,
  },
  {
    name: "charge-positive",
    guard: "A tool that reports nothing or less is charged one micro-USD.",
    file: CHARGE,
    find: "return used > LEAST ? used : LEAST;",
    replace: "return used;",
    tests: CALL,
  },
  {
    name: "charge-as-metered",
    guard: "What a tool reports as used is charged, not the quote.",
    file: "src/app/calls/run-and-capture.ts",
    find: "{ captured: chargeOf(price, usage.used) }",
    replace: "{ captured: chargeOf(price, price) }",
    tests: CALL,
  },
  {
    name: "meter-value-bounded",
    guard: "A negative or huge meter value counts as absurd.",
    file: UNITS,
    find: "return units !== undefined && units >= 0n && units <= MAX_UNITS * SCALE ? units : undefined;",
    replace: "return units;",
    tests: METER,
  },
  {
    name: "meter-value-number",
    guard: "A meter value that is no plain number counts as absurd.",
    file: UNITS,
    find: "if (!match) return undefined;",
    replace: "if (!match) return 0n;",
    tests: METER,
  },
  {
    name: "meter-own-members",
    guard: "A meter reads members that the answer has, not those that all objects inherit.",
    file: "src/tools/custom/meter.ts",
    find: "|| !Object.hasOwn(value, name)) return undefined;",
    replace: ") return undefined;\n    if (!Object.hasOwn(value, name)) return 1;",
    tests: METER,
  },
  {
    name: "cached-within-prompt",
    guard: "A model server's cached tokens are at most those of the prompt.",
    file: "src/inference/completion.ts",
    find: "Math.min(cachedTokens, prompt)",
    replace: "cachedTokens",
    tests: ["test/inference/odd-answers.test.ts"],
  },
  {
    name: "reasoning-in-ceiling",
    guard: "A quote covers an answer whose tokens are all reasoning.",
    file: "src/tools/inference-chat/price.ts",
    find: "return reasoningRate > outputRate ? reasoningRate : outputRate;",
    replace: "return reasoningRate > outputRate ? outputRate : outputRate;",
    tests: ["test/tools/inference-chat/price.test.ts"],
  },
  {
    name: "alias-as-quoted",
    guard: "A payment for an alias buys the model of its quote, whatever the alias stands for now.",
    file: "src/app/calls/buy-call.ts",
    find: "prepared: quoted }",
    replace: "prepared: { ...prepared, choice: quoted.choice } }",
    tests: ALIASES,
  },
  {
    name: "alias-sealed",
    guard: "A quote for an alias is for one model.",
    file: "src/domain/calls/fingerprint.ts",
    find: "choice === undefined ? print :",
    replace: "print.length > 0 || choice === undefined ? print :",
    tests: ALIASES,
  },
  {
    name: "vectors-match-input",
    guard: "Vectors that are not one for each input are not charged.",
    file: "src/inference/embedding-answer.ts",
    find: "data.length !== input.length || length === 0 || !isWhole",
    replace: "length < 0",
    tests: ["test/transport/openai/openai.test.ts"],
  },
];
