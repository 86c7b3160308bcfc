import { LINE_POINTS, PORT_POINTS, type Action, type Point } from "./points.ts";

/** A set of faults that strike together. */
export interface Profile {
  readonly name: string;
  /** Faults in an instance. */
  readonly inside: readonly Action[];
  /** Faults of the database proxy. */
  readonly onTheLine: readonly Action[];
  /** Target interval between faults, ms; below it, more orders are issued. */
  readonly strikeMs: number;
  /** Interval between PostgreSQL crashes, ms. */
  readonly crashMs: number | undefined;
  readonly rpc: boolean;
  /** Sets the instances' clocks up to ten minutes wrong. */
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

/** Stalls have a separate profile: with kills, a stalled instance rarely resumes. */
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

/** Every pair of a point and a fault. */
export function faultsOf({ inside, onTheLine }: Profile): { point: Point; action: Action }[] {
  return [
    ...PORT_POINTS.flatMap((point) =>
      inside
        .filter((action) => action !== "fail" || point.startsWith("tool.run"))
        .map((action) => ({ point, action })),
    ),
    ...LINE_POINTS.flatMap((point) =>
      // A late statement implies a broken connection.
      (point.endsWith(":late") ? onTheLine.filter((action) => action === "cut") : onTheLine).map(
        (action) => ({
          point,
          action,
        }),
      ),
    ),
  ];
}
