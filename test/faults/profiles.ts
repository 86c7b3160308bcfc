import { LINE_POINTS, PORT_POINTS, type Action, type Point } from "./points.ts";

/** Which faults strike together. */
export interface Profile {
  readonly name: string;
  /** What may happen in an instance. */
  readonly inside: readonly Action[];
  /** What may happen when the line to the database fails. */
  readonly onTheLine: readonly Action[];
  /** From one strike to the next, ms: as long as fewer strike, more orders are given. */
  readonly strikeMs: number;
  /** From one crash of PostgreSQL to the next, ms. */
  readonly crashMs: number | undefined;
  readonly rpc: boolean;
  /** The instances' clocks are up to ten minutes wrong. */
  readonly skew: boolean;
}

const CALM = {
  inside: ["delay", "fail"],
  onTheLine: [],
  strikeMs: 500,
  crashMs: undefined,
  rpc: false,
  skew: false,
} as const;

/** Stalls alone, too: where killing goes on, a stalled instance seldom comes back to do harm. */
export const PROFILES: readonly Profile[] = [
  { ...CALM, name: "kills", inside: ["kill", "fail"], onTheLine: ["kill"], strikeMs: 550 },
  { ...CALM, name: "stalls", inside: ["stall", "fail"], onTheLine: ["stall"], strikeMs: 900 },
  {
    ...CALM,
    name: "stalls-and-kills",
    inside: ["stall", "kill"],
    onTheLine: ["stall", "kill"],
    strikeMs: 600,
  },
  { ...CALM, name: "postgres", onTheLine: ["cut"], strikeMs: 200, crashMs: 6_000 },
  { ...CALM, name: "rpc", rpc: true },
  { ...CALM, name: "skew", skew: true },
  {
    ...CALM,
    name: "storm",
    inside: ["kill", "stall", "delay", "fail"],
    onTheLine: ["cut", "kill", "stall"],
    strikeMs: 500,
    crashMs: 8_000,
    rpc: true,
    skew: true,
  },
];

/** Every pair of a point and what may happen there. */
export function faultsOf({ inside, onTheLine }: Profile): { point: Point; action: Action }[] {
  return [
    ...PORT_POINTS.flatMap((point) =>
      inside
        .filter((action) => action !== "fail" || point.startsWith("tool.run"))
        .map((action) => ({ point, action })),
    ),
    ...LINE_POINTS.flatMap((point) =>
      // A late statement is one whose line was cut.
      (point.endsWith(":late") ? onTheLine.filter((action) => action === "cut") : onTheLine).map(
        (action) => ({
          point,
          action,
        }),
      ),
    ),
  ];
}
