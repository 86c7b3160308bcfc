import process from "node:process";
import { addAccountCommands } from "./cli/accounts.ts";
import { addDevCommand } from "./cli/dev.ts";
import { addDoctorCommand } from "./cli/doctor.ts";
import { addKeyCommands } from "./cli/keys.ts";
import { addLedgerCommands } from "./cli/ledger.ts";
import { addPayCommand } from "./cli/pay.ts";
import { runProgram } from "./cli/program.ts";
import { addServeCommand } from "./cli/serve.ts";

await runProgram([addDevCommand, addServeCommand, addLedgerCommands, addAccountCommands, addKeyCommands, addPayCommand, addDoctorCommand], process.argv.slice(2));
// A command that is done is done, whatever sockets its libraries would still keep open.
process.exit();
