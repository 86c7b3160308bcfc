import type { Part } from "./bench.ts";
import { PARTS } from "./parts.ts";

/** Parts shown in docs/explanation/performance.md. */
export type Section = Pick<Part, "name" | "title">;

/** Every part, including comparisons with other programs. */
export const SECTIONS: readonly Section[] = [...PARTS, { name: "soak", title: "An hour under load" }];
