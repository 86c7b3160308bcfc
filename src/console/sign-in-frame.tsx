import type { ReactNode } from "react";

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

export function Brand() {
  return (
    <span className="brand">
      <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false">
        <rect width="32" height="32" rx="8" />
        <path d="M8 23V13a8 8 0 0 1 16 0v10M16 23V12" />
      </svg>
      Toolgate
    </span>
  );
}
