import type { Part } from "./bench.ts";
import { PARTS } from "./parts.ts";

/** What docs/explanation/performance.md shows the figures of. */
export type Section = Pick<Part, "name" | "title" | "ownBars">;

/** Every part, and what is measured by programs of its own. */
export const SECTIONS: readonly Section[] = [...PARTS, { name: "soak", title: "An hour under load" }];
