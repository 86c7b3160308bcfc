import process from "node:process";
import type { Command } from "commander";
import type * as SignInClient from "../client/node/sign-in/index.ts";
import { CommandError, outputFor } from "./command.ts";
import { devBaseUrl } from "./database.ts";

interface SignInCommandOptions {
  json?: boolean;
}

/** `sign-in`, `sign-out` */
export function addSignInCommands(program: Command): void {
  program
    .command("sign-in")
    .description(
      "signs in to a gateway with the browser, for programs that use toolgate-client/sign-in; " +
        "prints the address to open",
    )
    .argument("[url]", "address of the gateway (default: that of the running dev)")
    .option("--json", "print JSON")
    .action(signIn);
  program
    .command("sign-out")
    .description("revokes the sign-in of this device to a gateway")
    .argument("[url]", "address of the gateway (default: that of the running dev)")
    .option("--json", "print JSON")
    .action(signOut);
}

async function signIn(given: string | undefined, { json = false }: SignInCommandOptions): Promise<void> {
  const baseUrl = given ?? devBaseUrl();
  await explained(({ signIn: open }) => open({ baseUrl, clientName: "toolgate" }));
  report(json, { gateway: baseUrl, signed_in: true }, `Signed in to ${baseUrl}.`);
}

async function signOut(given: string | undefined, { json = false }: SignInCommandOptions): Promise<void> {
  const baseUrl = given ?? devBaseUrl();
  const was = await explained(async ({ storedSignIn }) => {
    const stored = await storedSignIn({ baseUrl });
    await stored?.signOut();
    return stored !== undefined;
  });
  const text = was ? `Signed out of ${baseUrl}.` : `Not signed in to ${baseUrl}.`;
  report(json, { gateway: baseUrl, signed_in: false }, text);
}

function report(json: boolean, record: Record<string, unknown>, text: string): void {
  if (json) outputFor(true).record(record);
  else process.stdout.write(`${text}\n`);
}

/** Imports the client and uses it. @throws CommandError for what the user can fix */
async function explained<Result>(use: (client: typeof SignInClient) => Promise<Result>): Promise<Result> {
  const client = await import("../client/node/sign-in/index.ts");
  return use(client).catch((error: unknown) => {
    // A TypeError: the address is none.
    if (error instanceof client.SignInError || error instanceof TypeError)
      throw new CommandError(error.message.replace(/^baseUrl: /, "url: "), { cause: error });
    throw error;
  });
}
