import type { Mutant } from "./mutant.ts";

const COPIES = ["test/cells/misroutes.test.ts"];
const NAMES = ["test/domain/core/cell.test.ts"];

/** Names of other cells, also where a restored backup gave two cells the same secrets. */
export const CELLS: readonly Mutant[] = [
  {
    name: "cell-key",
    guard: "A cell refuses API keys of other cells, also with the same secrets and rows.",
    file: "src/postgres/accounts/authenticator.ts",
    find: '|| cell.isForeign("api_key", parsed.cell)',
    replace: "",
    tests: COPIES,
  },
  {
    name: "cell-quote",
    guard: "A cell opens no quote of another cell, also with the same secrets.",
    file: "src/domain/payments/quote.ts",
    find: 'sealed && !this.#cell.isForeign("quote", sealed.readUInt16BE(SEALED - CELL)) ? sealed : undefined',
    replace: "sealed",
    tests: COPIES,
  },
  {
    name: "cell-sign-in",
    guard: "A cell accepts no nonce of another cell.",
    file: "src/domain/accounts/sealed-nonce.ts",
    find: 'if (this.#cell.isForeign("sign_in", cell.readUInt16BE())) return undefined;',
    replace: "",
    tests: NAMES,
  },
  {
    name: "cell-session",
    guard: "A cell accepts no session of another cell.",
    file: "src/postgres/accounts/sessions.ts",
    find: 'if (this.#cell.isForeign("session", Number(cell))) return undefined;',
    replace: "",
    tests: COPIES,
  },
  {
    name: "cell-suspense",
    guard: "A transfer that names another cell's quote credits no account.",
    file: "src/domain/payments/quote.ts",
    find: 'sealed && !this.#cell.isForeign("quote", sealed.readUInt16BE(SEALED - CELL)) ? sealed : undefined',
    replace: "sealed",
    tests: ["test/app/jobs/watch-treasury.test.ts"],
  },
];
