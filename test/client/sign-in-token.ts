// A program of its own: prints the token of a stored sign-in, or signs in within some milliseconds.
import process from "node:process";
import { signIn, SignInError, storedSignIn } from "../../src/client/node/sign-in/index.ts";

const [, , baseUrl = "", folder = "", timeoutMs] = process.argv;

try {
  const session =
    timeoutMs === undefined
      ? await storedSignIn({ baseUrl, folder })
      : await signIn({ baseUrl, folder, timeoutMs: Number(timeoutMs), open: () => {} });
  process.stdout.write(`${await session?.token()}\n`);
} catch (error) {
  process.exitCode = error instanceof SignInError && error.code === "TIMED_OUT" ? 3 : 1;
}
