import { expect, it } from "vitest";
import { alertNames } from "./rules.ts";
import { walkThrough } from "./walk-through.ts";
import { WALKS } from "./walks/index.ts";

it("walks every runbook", () => {
  const walked = WALKS.flatMap(({ alerts }) => Object.keys(alerts));
  expect(walked.toSorted()).toEqual(alertNames.toSorted());
});

walkThrough(WALKS);
