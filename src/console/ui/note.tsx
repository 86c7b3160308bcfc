import { Code, ConnectError } from "@connectrpc/connect";
import type { ReactNode } from "react";
import { isUnreachable } from "../unreachable.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

const ICONS = { info: "info", ok: "check", warn: "warn", bad: "warn" } as const satisfies Record<
  string,
  IconName
>;

interface NoteProps {
  tone?: keyof typeof ICONS;
  title?: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
}

/** A message box; `bad` is announced as an alert. */
export function Note({ tone = "info", title, children, action }: NoteProps) {
  return (
    <div className={`note note-${tone}`} role={tone === "bad" ? "alert" : undefined}>
      <Icon name={ICONS[tone]} />
      <div className="note-text">
        {title !== undefined && <p className="note-title">{title}</p>}
        {children !== undefined && <div>{children}</div>}
      </div>
      {action}
    </div>
  );
}

/** An error with advice and the request id; renders nothing without an error. */
export function ErrorNote({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  if (error === undefined || error === null) return null;
  const { title, advice, requestId } = describeError(error);
  return (
    <Note
      tone="bad"
      title={title}
      action={
        onRetry && (
          <Button small onClick={onRetry}>
            Try again
          </Button>
        )
      }
    >
      {advice}
      {requestId !== undefined && (
        <p className="faint">
          Request <code>{requestId}</code>
        </p>
      )}
    </Note>
  );
}

function describeError(error: unknown): {
  title: string;
  advice?: string | undefined;
  requestId?: string | undefined;
} {
  // Errors thrown by the page, e.g. by a wallet, have complete messages.
  if (error instanceof Error && !(error instanceof ConnectError) && !(error instanceof TypeError))
    return { title: error.message };
  if (isUnreachable(error))
    return { title: "The gateway cannot be reached", advice: "Check the connection, then try again." };
  const connectError = ConnectError.from(error);
  const requestId = connectError.metadata.get("x-request-id") ?? undefined;
  return { title: sentence(connectError.rawMessage), advice: ADVICE[connectError.code], requestId };
}

const ADVICE: Readonly<Partial<Record<Code, string>>> = {
  [Code.Unavailable]: "Nothing was changed. Try again shortly.",
  [Code.Internal]:
    "The gateway failed. Try again; if it keeps failing, send the request ID below to the operator.",
  // A response that is not the gateway's, for example of a proxy.
  [Code.Unknown]: "The gateway failed. Try again; if it keeps failing, contact the operator.",
  [Code.Unauthenticated]: "Sign in again.",
};

/** The field prefixes mean nothing to the user, who did not enter these fields. */
function sentence(message: string): string {
  const text = message
    .replace(/^payer: /, "this wallet ")
    .replace(/^expected_limits: .*/, "these limits were changed meanwhile: close this form and edit again");
  return text === "" ? "Something went wrong" : text.charAt(0).toUpperCase() + text.slice(1);
}
