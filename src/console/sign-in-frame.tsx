import type { ReactNode } from "react";
import { Brand } from "./brand.tsx";

/** The sign-in page around what needs a script. The gateway sends it as HTML, so that it is shown at once. */
export function SignInFrame({ children, below }: { children?: ReactNode; below?: ReactNode }) {
  return (
    <main className="sign-in">
      <Brand />
      <section className="sign-in-box" aria-labelledby="sign-in-title">
        <div>
          <h1 id="sign-in-title">Sign in with your wallet</h1>
          <p className="lead">
            Your Solana wallet is your account. You sign a short message to prove that you own it. Signing is
            free and moves no funds.
          </p>
        </div>
        {children}
      </section>
      {below}
    </main>
  );
}
