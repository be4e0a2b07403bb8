package search

import "strings"

// stopWords have no meaning of their own.
var stopWords = set(`
a about above after again all also am an and any are as at be because been before being below between both but
by can cannot could d did do does doing don down during each etc few for from further had has have having he
her here hers herself him himself his how i if in into is isn it its itself just ll m me more most my myself
no nor not now of off on once only or other our ours ourselves out over own per re s same she should so some
such t than that the their theirs them themselves then there these they this those through to too under until
up upon ve very via was we were what when where whether which while who whom whose why will with within
without would you your yours yourself yourselves
`)

// chatter are conversational words: they seldom say what the user wants.
var chatter = set(`
able absolutely actually additionally afterwards ago ahead alright although always amazing anybody anyone
anything apparently appreciate assist assistance aware away awesome back basically become believe besides best
better bit bring came care case certain certainly clearly come comes completely considering couple curious
currently dear definitely desire desperately different easily easy effectively else ensure especially
essential eventually ever every everybody everyone everything exactly excellent excited exciting expect
explore extremely fact far feel feeling feels felt finally fine finished first firstly following forget
fortunately friend friends full fun furthermore gave generally getting gimme give given glad go goes going
gone gonna good got gotta grateful great greatly guess guy guys happen happened happy hard hardly hate heard
hello help helpful helping hence hey hi highly hope hoping however ideal ideally immediately important
incredibly indeed inform information instead interested interesting keen keep kind kindly knew know knowing
known last lastly lately later least less let lets like liked likely little lot lots love lovely lucky made
main mainly make making manage many matter may maybe mean means meanwhile might mind moment moreover morning
much must namely near nearly necessary need needed needing needs never nevertheless nice night nobody nope
normally nothing obviously offer often ok okay old one ones oops opinion otherwise particular particularly
past perfect perfectly perhaps person personal piece please pleased plenty possible possibly potential
potentially precisely prefer preferably present presently pretty previously probably problem proper properly
provide provided providing put question quick quickly quite rather ready real really reason recently regarding
related relevant remember respectively right say saying seem seems seen sense several shall share short
shortly similar simple simply since sincerely situation small somebody somehow someone something sometimes
somewhat somewhere soon sorry sort specific specifically specified start still stuff successfully suddenly
suitable super suppose sure surely take takes talk tell terms thank thankful thanks therefore thing things
think thinking thinks thoroughly thought thus till tired together tonight took total totally toward towards
tried truly try trying turn twice two understand unfortunately upcoming urgent urgently us use used useful
using usual usually various want wanted wanting wants way ways well went whatever whenever wherever whole wish
wishes wonder wonderful wondering work worked working works worried wow yeah yes yet
`)

func set(list string) map[string]bool {
	m := map[string]bool{}
	for w := range strings.FieldsSeq(list) {
		m[w] = true
	}
	return m
}
