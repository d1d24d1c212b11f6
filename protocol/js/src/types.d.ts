/*
 * types.d.ts - the public types of the package, and the shapes of the wire.
 *
 * Names and outcomes are those of PROTOCOL.md. src/*.js is checked against this file.
 */

/* ---- values ---- */

/** Opaque: store it, send it back, nothing else. It lives only as long as its session. */
export type Cursor = Uint8Array;

export type Role = 'reader' | 'writer' | 'moderator';

export interface Attachment {
  name: string;
  type: string;
  /** bytes */
  size: number;
  url: string;
  width?: number;
  height?: number;
}

/** A message that was deleted keeps only its place. */
export interface Tombstone {
  seq: number;
  at: number;
  version: number;
  deleted: true;
}

export interface LiveMessage {
  /** names the message in its thread for ever */
  seq: number;
  /** Unix milliseconds; a thread's order is (at, seq) */
  at: number;
  by: string;
  text: string;
  version: number;
  deleted?: undefined;
  /** absent: an ordinary message */
  kind?: string;
  edited_at?: number;
  reply_to?: number;
  mentions?: string[];
  attachments?: Attachment[];
  reactions?: Record<string, { count: number; mine: boolean }>;
  source?: { system: string; id: string };
  meta?: Record<string, unknown>;
}

export type Message = LiveMessage | Tombstone;

export type Has = 'attachment' | 'image' | 'file' | 'link' | 'reply';

/** Lists are any-of, fields are all-of. */
export interface Filter {
  by?: string[];
  has?: Has[];
  mentions?: string[];
  kind?: string[];
  thread_of?: number;
  /** ms, inclusive */
  from?: number;
  /** ms, exclusive */
  to?: number;
  text?: string;
}

export interface ThreadInfo {
  thread: string;
  title?: string;
  role: Role | null;
  unread: number;
  read: number;
  newest?: Message;
}

export interface Limits {
  page: number;
  page_bytes: number;
  frame: number;
  text: number;
}

/* ---- requests and replies ---- */

export interface LoadOlderOptions {
  cursor?: Cursor;
  filter?: Filter;
  /** 1–200, default 50 */
  limit?: number;
  /** first page only: exclusive, starts at that message */
  before?: number;
}

export interface LoadNewerOptions {
  cursor?: Cursor;
  filter?: Filter;
  limit?: number;
  /** without a cursor: exclusive; absent too: from the oldest */
  after?: number;
}

export type LoadAroundOptions =
  & ({ seq: number; at?: undefined } | { at: number; seq?: undefined })
  & { filter?: Filter; limit?: number };

export interface OlderPage {
  /** oldest first; may be empty while `older` is not null */
  messages: Message[];
  /** null: the beginning of the thread is reached. Only null says so. */
  older: Cursor | null;
  version: number;
  now: number;
}

export interface NewerPage {
  messages: Message[];
  newer: Cursor | null;
  version: number;
  now: number;
}

export interface AroundPage {
  messages: Message[];
  older: Cursor | null;
  newer: Cursor | null;
  found: boolean;
  version: number;
  now: number;
}

export interface PostOptions {
  /** at most 64 bytes; made up if absent */
  nonce?: string;
  kind?: string;
  reply_to?: number;
  mentions?: string[];
  attachments?: Attachment[];
  meta?: Record<string, unknown>;
}

export interface Posted {
  seq: number;
  at: number;
  version: number;
  /** this nonce was taken before: the first result */
  duplicate?: true;
  nonce: string;
}

export interface CreateThreadOptions {
  title?: string;
  history?: 'all' | 'since_join';
  access?: 'members' | 'tenant';
  members?: Record<string, Role>;
}

export interface ThreadsPage { threads: ThreadInfo[]; next: Cursor | null }
export interface MembersPage { members: { user: string; role: Role }[]; next: Cursor | null }

/** What comes unasked. `ev` names the event; unknown ones are passed on as they are. */
export interface ServerEvent {
  ev: string;
  thread?: string;
  version?: number;
  [field: string]: unknown;
}

/* ---- errors ---- */

export type ServerCode =
  | 'bad_request' | 'unauthenticated' | 'forbidden' | 'invalid_cursor' | 'not_found' | 'conflict'
  | 'too_large' | 'rate_limited' | 'overloaded' | 'unavailable' | 'unknown_outcome' | 'internal';

/** No reply came: the connection dropped, time ran out, the client was closed, nonsense arrived. */
export type ClientCode = 'connection_lost' | 'timeout' | 'closed' | 'bad_frame';
export type ErrorCode = ServerCode | ClientCode;

export class ScrollbackError extends Error {
  constructor(code: ErrorCode, message: string, more?: { retryMs?: number; nonce?: string });
  readonly code: ErrorCode;
  /** the server asks to wait so long */
  readonly retryMs: number | undefined;
  /** of a failed post: repeat it with this nonce and it is stored once */
  readonly nonce: string | undefined;
  withNonce(nonce: string): ScrollbackError;
}

export const SERVER_CODES: readonly ServerCode[];
export const CLIENT_CODES: readonly ClientCode[];

/* ---- the client ---- */

/** The part of a WebSocket that is used; browsers' and the `ws` package's fit. */
export interface Socket {
  binaryType: string;
  readonly readyState: number;
  send(data: Uint8Array<ArrayBuffer>): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: (event: SocketEvent) => void): void;
}
export interface SocketEvent {
  data?: unknown;
  code?: number;
  reason?: string;
}
export type SocketConstructor = new (url: string, protocols: string) => Socket;

/** Time and chance, to be replaced in tests. */
export interface Clock {
  now(): number;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** 0 ≤ x < 1 */
  random(): number;
}

export type State =
  | 'connecting' | 'open'
  /** dropped; the next try is at `retryAt` */
  | 'waiting'
  /** for good */
  | 'closed';

export interface StateChange {
  state: State;
  /** waiting: ms until the next try */
  retryMs?: number;
  /** why it is not open */
  error?: ScrollbackError;
}

export interface ConnectOptions {
  /** ws://HOST:PORT/v1 */
  url: string;
  /** a JWT, or how to get a fresh one: then it is renewed before it expires */
  token: string | (() => string | Promise<string>);
  /** default: globalThis.WebSocket */
  WebSocket?: SocketConstructor;
  /** ms until a request without a reply fails; default 20,000 */
  timeout?: number;
  /** default true */
  reconnect?: boolean;
  /** default: half a second, doubled up to half a minute */
  backoff?: { first: number; most: number };
  onEvent?: (event: ServerEvent) => void;
  onState?: (change: StateChange) => void;
  clock?: Clock;
}

export class Client {
  constructor(options: ConnectOptions);
  readonly state: State;
  /** of the last hello */
  readonly user: string;
  readonly tenant: string;
  readonly limits: Limits;
  /** Counts hellos that began a new session: cursors of an earlier one are void. */
  readonly session: number;
  /** Resolves once open. `connect` awaits it. */
  opened(): Promise<void>;
  loadOlder(thread: string, options?: LoadOlderOptions): Promise<OlderPage>;
  loadNewer(thread: string, options?: LoadNewerOptions): Promise<NewerPage>;
  loadAround(thread: string, options: LoadAroundOptions): Promise<AroundPage>;
  post(thread: string, text: string, options?: PostOptions): Promise<Posted>;
  createThread(thread: string, options?: CreateThreadOptions): Promise<{ version: number }>;
  /** null removes */
  setMember(thread: string, user: string, role: Role | null): Promise<{ version: number }>;
  members(thread: string, options?: { cursor?: Cursor; limit?: number }): Promise<MembersPage>;
  threads(options?: { cursor?: Cursor; limit?: number }): Promise<ThreadsPage>;
  /** Pages from the newest to the beginning; each page is oldest first. */
  walkOlder(thread: string, options?: WalkOptions): AsyncGenerator<OlderPage, void, void>;
  /** Any operation, for those without a method here. */
  request(op: string, fields: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Ends the session. Everything pending fails with `closed`. */
  close(): void;
}

export interface WalkOptions {
  filter?: Filter;
  limit?: number;
  /** start below this message */
  before?: number;
}

export function connect(options: ConnectOptions): Promise<Client>;

/* ---- a window of loaded rows ---- */

/** What to ask for next on one side; null: there is nothing more. */
export type OlderStep = { cursor: Cursor } | { before: number } | Record<string, never>;
export type NewerStep = { cursor: Cursor } | { after: number } | Record<string, never>;

export class History {
  /** Contiguous, ordered by (at, seq). */
  readonly rows: readonly Message[];
  /** The oldest row is the beginning of the thread (or of what the filter lets through). */
  readonly atBeginning: boolean;
  /** Nothing newer was there when it was last asked. */
  readonly atEnd: boolean;
  reset(): void;
  addOlder(page: OlderPage): Message[];
  addNewer(page: NewerPage): Message[];
  /** A jump: one window, so what was held is dropped. */
  replace(page: AroundPage): void;
  /** One changed row. False: outside the window, or not newer than what is held. */
  upsert(message: Message): boolean;
  dropNewest(keep: number): Message[];
  dropOldest(keep: number): Message[];
  /** A new session: the next steps start from the rows that are held. */
  forgetCursors(): void;
  olderStep(): OlderStep | null;
  newerStep(): NewerStep;
}

/** The order of a thread: negative if `a` comes first. */
export function compareRows(a: { at: number; seq: number }, b: { at: number; seq: number }): number;
