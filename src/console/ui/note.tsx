import { Code, ConnectError } from "@connectrpc/connect";
import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

const ICONS = { info: "info", ok: "check", warn: "warn", bad: "warn" } as const satisfies Record<
  string,
  IconName
>;

/** A remark in the page: `title` in short, `children` what it means or what to do, `action` a button for it. */
export function Note({
  tone = "info",
  title,
  children,
  action,
}: {
  tone?: keyof typeof ICONS;
  title?: ReactNode;
  children?: ReactNode;
  action?: ReactNode;
}) {
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

/** An error with what to do, and the request's id for whoever is asked. Shows nothing while there is none. `onRetry` offers to try again. */
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
  // Errors of the page itself, e.g. of the wallet, say all in their message.
  if (error instanceof Error && !(error instanceof ConnectError) && !(error instanceof TypeError))
    return { title: error.message };
  const told = ConnectError.from(error);
  const requestId = told.metadata.get("x-request-id") ?? undefined;
  const advice = ADVICE[told.code];
  // What fetch throws when nobody answers has no words for people.
  if (error instanceof TypeError || (told.code === Code.Unknown && requestId === undefined))
    return { title: "The gateway cannot be reached", advice: "Check the connection, then try again." };
  return { title: sentence(told.rawMessage), advice, requestId };
}

const ADVICE: Readonly<Partial<Record<Code, string>>> = {
  [Code.Unavailable]: "Nothing was changed. Try again in a moment.",
  [Code.Internal]: "It is the gateway's fault. Try again; if it stays, tell the operator the request below.",
  [Code.Unauthenticated]: "Sign in again.",
};

/** The field of the page's own request is nothing that a person has filled in. */
function sentence(message: string): string {
  const text = message.replace(/^payer: /, "this wallet ");
  return text === "" ? "It did not work" : text.charAt(0).toUpperCase() + text.slice(1);
}
