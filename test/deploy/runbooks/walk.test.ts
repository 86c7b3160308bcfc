import { expect, it } from "vitest";
import { alertNames } from "./rules.ts";
import { walkThrough } from "./walk-through.ts";
import { NOT_WALKED, WALKS } from "./walks.ts";

it("walks every runbook or says why not", () => {
  const walked = WALKS.flatMap(({ alerts }) => Object.keys(alerts));
  expect([...walked, ...Object.keys(NOT_WALKED)].toSorted()).toEqual(alertNames.toSorted());
});

walkThrough(WALKS);
