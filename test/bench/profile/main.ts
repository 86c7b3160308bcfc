import process from "node:process";
import { profileText, readProfile } from "./text.ts";

// node test/bench/profile/main.ts <file.cpuprofile> [lines]: where the time of a server went after its start.

const [file = "", lines = "40"] = process.argv.slice(2);
process.stdout.write(profileText(await readProfile(file), Number(lines)));
