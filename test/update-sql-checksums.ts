// npm run sql: brings src/postgres/database/sql/checksums.json up to date after a change of an SQL file.
import process from "node:process";
import { SQL_FOLDER } from "../src/postgres/database/sql-files.ts";
import { updateChecksums } from "./tooling/sql-checksums.ts";

const problems = await updateChecksums(SQL_FOLDER);
process.stderr.write(problems.map((line) => `${line}\n`).join(""));
process.exitCode = problems.length === 0 ? 0 : 1;
