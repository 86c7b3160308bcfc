import { readOptions, wholeNumber } from "../../tooling/options.ts";

const USAGE = `npm run cell-lab [-- OPTIONS]

Three cells behind HAProxy sell to customers while accounts move between them and whole cells are killed. No
acknowledged call may be lost or charged twice, and customers of other cells must not notice. Needs Debian's
haproxy.

  --moves N        number of account moves (default: 200)
  --kills N        how often a cell is killed, gateway and database (default: 4)
  --customers N    concurrent customers of each cell (default: 6)
  --seed N         seed of what moves and what is killed (default: random)
  --short          4 moves, one kill, 2 customers of each cell
  --json           prints the report as JSON
  --quiet          prints no progress

Exit code: 0 without a broken promise, 1 for one, a failed run or a missing package, 2 for invalid options.`;

export interface LabOptions {
  readonly moves: number;
  readonly kills: number;
  readonly customers: number;
  readonly seed: number;
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Parses the command line; ends the process when it is invalid. */
export function labOptions(): LabOptions {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const options = {
    ...{ moves: text, kills: text, customers: text, seed: text },
    ...{ short: flag, json: flag, quiet: flag },
  } as const;
  return readOptions(USAGE, { options }, ({ values }) => {
    const usual = values.short
      ? { moves: "4", kills: "1", customers: "2" }
      : { moves: "200", kills: "4", customers: "6" };
    const {
      moves = usual.moves,
      kills = usual.kills,
      customers = usual.customers,
      seed,
      json,
      quiet,
    } = values;
    return {
      moves: wholeNumber("moves", moves, 0),
      kills: wholeNumber("kills", kills, 0),
      customers: wholeNumber("customers", customers, 1),
      seed: seed === undefined ? Date.now() % 1_000_000 : wholeNumber("seed", seed, 0),
      json,
      quiet,
    };
  });
}
