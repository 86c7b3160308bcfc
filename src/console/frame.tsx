import { useEffect, useRef, useState, type ReactNode, Suspense } from "react";
import { Link, useLocation } from "wouter";
import { isAt, OPERATOR_NAV_ITEMS, NAV_ITEMS, type NavItem } from "./routes.ts";
import { useSignedIn, useSignOut } from "./session.tsx";
import { truncateMiddle } from "./format.ts";
import { Button, CopyButton, Icon, Note, ButtonLink } from "./ui/index.ts";
import { Brand } from "./sign-in-frame.tsx";
import { useUnsavedSecret } from "./unsaved-secret.ts";
import { lazyComponent } from "./lazy-component.ts";
import { PageErrorBoundary } from "./page-error-boundary.tsx";

/** Navigation items that stay visible on a narrow screen; the others are behind "More". */
const IN_BAR = 4;

export function Frame({ children }: { children: ReactNode }) {
  const { session } = useSignedIn();
  const [location] = useLocation();
  // Tied to the location, so that navigation closes the menu.
  const [openAt, setOpenAt] = useState<string>();
  const open = openAt === location;
  const more = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      setOpenAt(undefined);
      more.current?.focus();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [open]);
  return (
    <div className={open ? "frame is-open" : "frame"}>
      <a href="#content" className="skip">
        Skip to content
      </a>
      <header className="side">
        <Brand />
        <FinderButton location={location} />
        <nav aria-label="Console">
          <NavList items={NAV_ITEMS} location={location} />
          {session.operator && (
            <>
              <p className="nav-head">Operator</p>
              <NavList items={OPERATOR_NAV_ITEMS} location={location} />
            </>
          )}
        </nav>
        <Account />
        <button
          ref={more}
          type="button"
          className="nav-more"
          aria-expanded={open}
          onClick={() => setOpenAt(open ? undefined : location)}
        >
          <Icon name={open ? "cross" : "more"} />
          {open ? "Close" : "More"}
        </button>
      </header>
      <main id="content" tabIndex={-1}>
        <BlockedBanner />
        <UnsavedSecretNote location={location} />
        {children}
      </main>
    </div>
  );
}

function BlockedBanner() {
  const { session } = useSignedIn();
  if (session.blockedReason === undefined) return null;
  return (
    <div className="page-note">
      <Note tone="bad" title="Your account is blocked">
        <p>Reason: {session.blockedReason}</p>
        <p>
          Calls with your API keys are refused, and you cannot create keys or deposits. Payments that arrive
          are credited. Ask the operator to unblock the account.
        </p>
      </Note>
    </div>
  );
}

function NavList({ items, location }: { items: readonly NavItem[]; location: string }) {
  return (
    <ul className="nav">
      {items.map((item, index) => (
        <li key={item.href} className={items === NAV_ITEMS && index < IN_BAR ? "nav-first" : undefined}>
          <Link href={item.href} aria-current={isAt(location, item) ? "page" : undefined}>
            <Icon name={item.icon} />
            {item.label}
          </Link>
        </li>
      ))}
    </ul>
  );
}

function Account() {
  const { session } = useSignedIn();
  const signOut = useSignOut();
  return (
    <div className="account">
      <div className="account-wallet">
        <span className="faint">Signed in as</span>
        <span className="copyable">
          <code title={session.wallet}>{truncateMiddle(session.wallet, 5, 5)}</code>
          <CopyButton text={session.wallet} label="wallet address" />
        </span>
      </div>
      <Button small tone="quiet" icon="leave" busy={signOut.isPending} onClick={() => signOut.mutate({})}>
        Sign out
      </Button>
    </div>
  );
}

/** A warning on every page but Keys, which shows the secret: a new secret is not saved yet. */
function UnsavedSecretNote({ location }: { location: string }) {
  const secret = useUnsavedSecret();
  if (!secret || location === "/keys") return null;
  return (
    <div className="page-note">
      <Note
        tone="warn"
        title={`The key “${secret.name}” is not saved yet`}
        action={
          <ButtonLink small href="/keys">
            Show the key
          </ButtonLink>
        }
      >
        It is shown only once. It is lost when this tab closes or reloads.
      </Note>
    </div>
  );
}

const Finder = lazyComponent<"Finder", { open: boolean; onClose: () => void }>(
  () => import("./finder.tsx"),
  "Finder",
);

/** Opens the finder; so does Ctrl-K or Cmd-K on every page. */
function FinderButton({ location }: { location: string }) {
  const [open, setOpen] = useState(false);
  // Its code loads on first use, and the dialog then stays to return the focus when it closes.
  const [used, setUsed] = useState(false);
  const show = () => {
    setUsed(true);
    setOpen(true);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      if (event.altKey || event.shiftKey) return;
      event.preventDefault();
      // Another dialog may hold text that is not saved.
      if (document.querySelector("dialog[open]") === null) show();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  return (
    <div className="finder">
      <Button small icon="search" aria-keyshortcuts="Control+K Meta+K" onClick={show}>
        Find
        <kbd aria-hidden="true">Ctrl K</kbd>
      </Button>
      {used && (
        <PageErrorBoundary location={location}>
          <Suspense fallback={null}>
            <Finder open={open} onClose={() => setOpen(false)} />
          </Suspense>
        </PageErrorBoundary>
      )}
    </div>
  );
}
