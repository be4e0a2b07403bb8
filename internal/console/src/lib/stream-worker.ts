// The worker that all tabs of a browser share; see stream.ts.
import { serve } from './stream.ts'

addEventListener('connect', e => serve((e as MessageEvent).ports[0]!))
