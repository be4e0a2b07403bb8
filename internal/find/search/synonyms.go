package search

import (
	"slices"
	"strings"
)

// synonyms are groups of words that tools and people use interchangeably.
var synonyms = groups(`
get fetch retrieve obtain read lookup view show display
search find query lookup locate discover seek
create add make new generate insert
delete remove erase drop clear
update edit modify change alter revise adjust
list enumerate show
send post deliver transmit
book reserve
buy purchase order
cancel revoke
calculate compute determine evaluate
convert transform translate
check verify validate confirm
begin start launch initiate
stop end terminate halt
pause suspend
enable activate
disable deactivate
copy duplicate clone
rename move
upload import
download export
save store write
run execute invoke
build construct
analyze analyse examine inspect analysis
compare contrast difference diff
recommend suggest recommendation suggestion
combine merge join concatenate
split divide separate
sort order arrange
filter select
count number
track monitor watch follow
subscribe follow
notify alert notification
remind reminder alarm
assign allocate
approve accept
reject decline deny
publish release deploy
install setup
configure configuration setting
connect link
login authenticate signin
register signup enroll
review rating feedback
explain describe definition meaning
summarize summary summarise
predict forecast prediction estimate
plan schedule planning
meeting appointment
schedule calendar
picture image photo photograph
movie film
song music track
video clip
car vehicle automobile
taxi cab ride
house home property apartment
doctor physician
job career employment vacancy
cost price fee fare
pay payment
transfer send remit
email mail
message chat
folder directory
document file
stock share equity
weather forecast temperature
flight airline airfare
hotel accommodation lodging
restaurant dining
shop store
product item goods
user account member
phone telephone mobile
location place address
nearby around near
route direction navigation
city town
country nation
news article headline
trip travel journey
holiday vacation
distance far
money currency cash
crypto cryptocurrency bitcoin coin
company business firm organization
student pupil
teacher instructor
class course lesson
law legal
health medical
disease illness sickness
symptom sign
drug medicine medication
recipe cooking dish
food meal
game play
sport match
book novel
author writer
chart graph plot diagram
table spreadsheet
website site webpage
url link
code program script
bug issue defect
ticket issue
database db
error failure
log history
balance amount
invoice bill
discount coupon
delivery shipment shipping
area region
size dimension
average mean
maximum max highest
minimum min lowest
multiply multiplication product
add sum addition
subtract subtraction
root sqrt
random
repo repository
directory dir
admin administrator
`)

// groups maps each word's stem to the other stems in its lines.
func groups(list string) map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(list) {
		group := strings.Fields(line)
		for i, w := range group {
			group[i] = stem(w)
		}
		for _, w := range group {
			for _, other := range group {
				if w != other && !slices.Contains(m[w], other) {
					m[w] = append(m[w], other)
				}
			}
		}
	}
	return m
}
