// Who keeps the time of a task. Both kinds of clock are read as { used, stands }, in seconds, and pressed.

import { ENDS, STOPPED } from "python";
import { say } from "./shared/sentences.js";

const EVERY = 10000; // milliseconds until Python is asked again, while the clock is in sight
const PATIENCE = 6000; // milliseconds that it may take to answer

/** A duration as a clock shows it: 7:05, 1:00:00. */
export function clockText(seconds) {
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, String(whole % 60).padStart(2, "0")];
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/** What a clock shows, in words, as Python says it. */
export function clockWords({ used, stands }, minutes) {
  const [whole, left] = [clockText(60 * minutes), 60 * minutes - used];
  if (ENDS.includes(stands)) return say("ended", { stands, time: clockText(used), whole });
  const said = say(left >= 0 ? "left" : "over", { time: clockText(Math.abs(left)), whole });
  return stands === STOPPED ? say("paused", { said }) : said;
}

/** A clock that Python keeps. Between its answers the page counts on, until it should have heard from it. */
export function clockOfPython(page) {
  let [told, at, asked, waits] = [0, 0, 0, null];

  function send(what) {
    asked = performance.now();
    waits ??= asked;
    try {
      page.set({ asked: { what, number: Date.now() + Math.random() } }); // each is another: it is sent
    } catch {
      waits = -Infinity; // there is nobody to send it to
    }
  }
  function listen(state) {
    if (state.told === told) return;
    [told, at, waits] = [state.told, performance.now(), null];
  }
  const silent = () => waits !== null && performance.now() - waits > PATIENCE;
  return {
    read(state) {
      listen(state);
      const since = state.stands === "running" && !silent() ? (performance.now() - at) / 1000 : 0;
      const when = new Date(1000 * told).toLocaleTimeString();
      return { stands: state.stands, used: state.used + since, silent: silent() ? say("silent", { when }) : "" };
    },
    press: send,
    look: () => performance.now() - asked > EVERY && send("look"),
    seen: () => send("look"),
  };
}

/** A clock of the page's own: kept by the browser, so that all its tabs show the same; else until the page is left. */
export function clockOfPage(page, memory) {
  let here = null;
  const isClock = (one) => ["running", STOPPED].includes(one?.stands) && [one.used, one.since].every(Number.isFinite);
  const last = () => [memory.kept(), here].find(isClock) ?? { stands: "", used: 0, since: 0 };
  const read = () => {
    const { stands, used, since } = last();
    const passed = stands === "running" ? Math.max((Date.now() - since) / 1000, 0) : 0;
    return { stands, used: Math.max(used, 0) + passed, silent: "" };
  };
  return {
    read,
    press(what) {
      here = { stands: what === "pause" ? STOPPED : "running", used: what === "begin" ? 0 : read().used, since: Date.now() };
      memory.keep(here);
      page.refresh();
    },
    look() {},
    seen() {},
  };
}
