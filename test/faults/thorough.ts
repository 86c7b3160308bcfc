import process from "node:process";

/** `npm run faults:check`: also the tests of the fault run itself that repeat it at length. */
export const THOROUGH = process.env["FAULTS"] === "everything";
